#include <cub/block/block_load.cuh>
int main() {
    return 0;
}
