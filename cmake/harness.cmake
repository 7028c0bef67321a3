# The libraries of the harness, one per module. Projects link them: rungs_options is what both are compiled with.
add_library(rungs_options INTERFACE)
target_include_directories(rungs_options INTERFACE "$<BUILD_INTERFACE:${RUNGS_INCLUDES}>" $<INSTALL_INTERFACE:include/rungs>)
target_compile_definitions(rungs_options INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
# -ffp-contract=off so that references and verification round as written (variants choose for themselves).
target_compile_options(rungs_options INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off$<SEMICOLON>-fopenmp> $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
target_link_options(rungs_options INTERFACE -fopenmp LINKER:-z,relro,-z,now # device/confine.h keeps it
                    LINKER:--build-id) # which cached references are bound to
target_link_libraries(rungs_options INTERFACE m)
rungs_language(rungs_strict WARNINGS_AS_ERRORS FOLDER ${PROJECT_SOURCE_DIR})

# rungs_module(TARGET FOLDER libraries...)
function(rungs_module name folder)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
    if(RUNGS_CUDA)
        file(GLOB cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cu)
        list(APPEND sources ${cuda_sources})
    endif()
    add_library(${name} STATIC ${sources})
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_link_libraries(${name} PUBLIC rungs_options ${ARGN} PRIVATE $<BUILD_INTERFACE:rungs_strict>)
endfunction()

rungs_module(rungs_base harness/base jansson ${CMAKE_DL_LIBS})
# Header-only NVTX names ranges for Nsight Systems; without it there are none.
find_path(RUNGS_NVTX_HEADERS nvtx3/nvToolsExt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${RUNGS_CUDA_HEADERS} /usr/local/cuda/include)
if(RUNGS_NVTX_HEADERS)
    target_include_directories(rungs_base SYSTEM PRIVATE ${RUNGS_NVTX_HEADERS})
endif()
rungs_module(rungs_verify harness/verify rungs_base)
rungs_module(rungs_plan harness/plan rungs_record rungs_verify rungs_base yaml)
rungs_module(rungs_device harness/device rungs_base)
rungs_module(rungs_measure harness/measure rungs_base)
# The same code for the workers of Python libraries, which call it through ctypes (harness/device/peer_timing.py).
set_target_properties(rungs_base rungs_measure PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(rungs_measure_library SHARED $<TARGET_OBJECTS:rungs_measure>)
target_link_libraries(rungs_measure_library PRIVATE rungs_measure)
# The clock of a library's worker is kept; arrays are written and compared by all cores.
target_sources(rungs_measure_library PRIVATE harness/device/confine.c harness/base/bytes.c)
target_compile_definitions(rungs_measure_library PRIVATE _GNU_SOURCE)
if(RUNGS_CUDA)
    target_sources(rungs_measure_library PRIVATE harness/device/digest.cu) # results of libraries are compared on the GPU
endif()
set_target_properties(rungs_measure_library PROPERTIES OUTPUT_NAME rungs_measure LIBRARY_OUTPUT_DIRECTORY ${RUNGS_LIBRARIES})
# CUPTI is opened when it is needed; only its headers are, which some toolkits keep apart. Without them nothing is counted.
if(RUNGS_CUDA)
    find_path(RUNGS_CUPTI_HEADERS cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include
                                                ${CUDAToolkit_BIN_DIR}/../extras/CUPTI/include)
    if(RUNGS_CUPTI_HEADERS AND NOT RUNGS_CUPTI_HEADERS IN_LIST CUDAToolkit_INCLUDE_DIRS)
        target_include_directories(rungs_measure SYSTEM PRIVATE ${RUNGS_CUPTI_HEADERS})
    endif()
endif()
# Ceilings are what the machine can do, with the instructions it has.
set_source_files_properties(harness/measure/ceilings_cpu.c harness/measure/moves_cpu.c PROPERTIES COMPILE_OPTIONS "-march=${RUNGS_CPU_ARCHITECTURE};-ffp-contract=fast")
rungs_module(rungs_record harness/record rungs_base jansson)
# The description of a row that readers check lines against, as bytes.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/record/row.schema.json)
file(READ ${PROJECT_SOURCE_DIR}/harness/record/row.schema.json schema HEX)
string(REGEX REPLACE "(..)" "0x\\1," schema "${schema}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/row_schema.c CONTENT "extern const char ROW_SCHEMA[];\nconst char ROW_SCHEMA[] = {@schema@0};\n" @ONLY)
target_sources(rungs_record PRIVATE ${CMAKE_BINARY_DIR}/row_schema.c)
if(RUNGS_CUDA)
    target_compile_definitions(rungs_device PRIVATE RUNGS_WITH_CUDA=1)
    target_compile_definitions(rungs_measure PRIVATE RUNGS_WITH_CUDA=1)
    target_link_libraries(rungs_device PUBLIC CUDA::cudart_static)
    target_link_libraries(rungs_measure PUBLIC CUDA::cudart_static)
elseif(RUNGS_CUDA_EMULATED)
    target_compile_definitions(rungs_device PRIVATE RUNGS_CUDA_EMULATED=1)
endif()
# What modules and programs must agree on, and what of a program a module sees: the functions of base/.
file(GLOB contract CONFIGURE_DEPENDS harness/op.h harness/variant.h harness/kernel.h harness/base/*.h)
set(contract_source ${CMAKE_BINARY_DIR}/contract.c)
add_custom_command(OUTPUT ${contract_source}
    COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/modules.py --contract ${PROJECT_SOURCE_DIR}/harness ${contract_source}
    DEPENDS ${contract} ${RUNGS_TOOLS}/modules.py VERBATIM)
add_custom_target(rungs_contract DEPENDS ${contract_source})
target_sources(rungs_plan PRIVATE ${contract_source})
add_dependencies(rungs_plan rungs_contract)
set(exports ${CMAKE_BINARY_DIR}/lib/exports)
add_custom_command(OUTPUT ${exports}
    COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/modules.py --exports $<TARGET_FILE:rungs_base> ${exports}
    DEPENDS rungs_base ${RUNGS_TOOLS}/modules.py VERBATIM)
add_custom_target(rungs_exported DEPENDS ${exports})
rungs_module(rungs_worker harness/worker rungs_plan rungs_device rungs_measure rungs_record jansson)
rungs_module(rungs_pipeline harness/pipeline rungs_plan rungs_device rungs_verify rungs_measure rungs_record jansson)
rungs_module(rungs_cli harness/cli rungs_pipeline benchmark::benchmark)
add_library(rungs_main STATIC harness/main.c)
target_link_libraries(rungs_main PUBLIC rungs_cli rungs_pipeline rungs_worker PRIVATE $<BUILD_INTERFACE:rungs_strict>)

# What the emulator's programs share (cmake/emulator.cmake makes them). It stands in for the CUDA runtime. It verifies and takes no times:
# a worker without the measure module.
if(RUNGS_EMULATOR)
    add_library(rungs_emulator_options INTERFACE)
    target_include_directories(rungs_emulator_options INTERFACE "$<BUILD_INTERFACE:${RUNGS_INCLUDES}>" $<INSTALL_INTERFACE:include/rungs>)
    target_include_directories(rungs_emulator_options SYSTEM INTERFACE $<BUILD_INTERFACE:${RUNGS_CUDA_HEADERS}>)
    target_compile_definitions(rungs_emulator_options INTERFACE _GNU_SOURCE)
    target_compile_options(rungs_emulator_options INTERFACE -std=c17 -Wall -Wextra -Wconversion -Wshadow -fopenmp -g
                                                            $<BUILD_INTERFACE:-Werror>)

    file(GLOB engine CONFIGURE_DEPENDS emulator/*.c)
    set(hooks ${PROJECT_SOURCE_DIR}/emulator/hooks.c ${PROJECT_SOURCE_DIR}/emulator/values_hooks.c ${PROJECT_SOURCE_DIR}/emulator/coverage.c) # each is in the programs that watch so
    list(REMOVE_ITEM engine ${PROJECT_SOURCE_DIR}/emulator/main.c ${hooks})
    add_library(rungs_emulator_engine STATIC ${engine})
    add_library(rungs_emulator_hooks STATIC ${hooks})
    foreach(library rungs_emulator_engine rungs_emulator_hooks)
        target_compile_options(${library} PRIVATE -O2)
        target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:rungs_emulator_options> INTERFACE $<LINK_ONLY:rungs_base>)
    endforeach()

    file(GLOB host CONFIGURE_DEPENDS harness/device/*.c harness/worker/*.c)
    list(FILTER host EXCLUDE REGEX "/worker/timing.c$")
    add_library(rungs_emulator_host STATIC emulator/main.c harness/plan/registry.c harness/record/parts.c ${host})
    target_link_libraries(rungs_emulator_host PRIVATE $<BUILD_INTERFACE:rungs_emulator_options>)
    target_sources(rungs_emulator_host PRIVATE ${contract_source})
    add_dependencies(rungs_emulator_host rungs_contract)
endif()
