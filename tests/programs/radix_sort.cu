#include <cub/block/block_radix_sort.cuh>
int main() {
    return 0;
}
