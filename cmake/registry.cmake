# Variants and ops are found by their paths. generate_registry.py writes the tables; an impl whose descriptor does not bear the name
# of its path leaves an undefined symbol.
file(GLOB impl_c CONFIGURE_DEPENDS impls/*/cpu_*.c)
file(GLOB impl_cuda CONFIGURE_DEPENDS impls/*/cuda_*.cu)
file(GLOB impl_peers CONFIGURE_DEPENDS impls/*/peer_*.py)
file(GLOB impl_common CONFIGURE_DEPENDS impls/common/*.c)
file(GLOB reference_ops CONFIGURE_DEPENDS reference/*.c)
if(NOT RUNGS_CUDA)
    set(impl_cuda "")
endif()

set(registry ${CMAKE_BINARY_DIR}/registry.c)
add_custom_command(OUTPUT ${registry}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py --source ${PROJECT_SOURCE_DIR} --out ${registry}
            --variants ${impl_c} ${impl_cuda} --peers ${impl_peers} --references ${reference_ops}
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/generate_registry.py ${impl_c} ${impl_cuda} ${impl_peers} ${reference_ops}
    VERBATIM)

add_library(rungs_impls OBJECT ${impl_c} ${impl_cuda} ${impl_common} ${registry})
target_include_directories(rungs_impls PRIVATE ${PROJECT_SOURCE_DIR}/impls)
target_link_libraries(rungs_impls PUBLIC rungs_options rungs_reference rungs_base)
# CPU variants may use everything this machine has; contraction is theirs to choose.
set_source_files_properties(${impl_c} PROPERTIES COMPILE_OPTIONS "-march=native")
if(RUNGS_CUDA)
    target_link_libraries(rungs_impls PUBLIC CUDA::cudart_static)
    set(cuda_options "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>")
    target_compile_options(rungs_impls PRIVATE ${cuda_options})
    target_compile_options(rungs_measure PRIVATE ${cuda_options})
    target_compile_options(rungs_device PRIVATE ${cuda_options})
endif()
