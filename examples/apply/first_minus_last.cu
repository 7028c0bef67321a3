// The first element of the window minus the last: how far the series fell within the window.
__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset) {
    for (int i = 0; i < arr_len; i++) {
        if (history_len + i < window_size - 1) continue; // the window begins before the array
        out[i] = shared[offset + i - (window_size - 1)] - shared[offset + i];
    }
}
