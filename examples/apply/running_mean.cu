// The mean, with a sum kept from one output of the tile to the next: the first complete window is summed, then each step adds the
// element that enters and subtracts the one that leaves. Fast, but fragile: a NaN, an infinity or a very
// large element corrupts the sum for the rest of its tile.
__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset) {
    real sum = 0;
    bool begun = false;
    for (int i = 0; i < arr_len; i++) {
        if (history_len + i < window_size - 1) continue; // the window begins before the array
        const real *newest = shared + offset + i;
        if (begun) {
            sum += newest[0] - newest[-window_size];
        } else {
            for (int k = 0; k < window_size; k++) sum += newest[k - (window_size - 1)];
            begun = true;
        }
        out[i] = sum / window_size;
    }
}
