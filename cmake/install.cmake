# cmake --install: a prefix that may be moved, with what a project of one's own is built from (find_package(rungs)), and packages of it.
#
#     bin/            rungs, with this repository's ops; the emulator of its kernels
#     lib/rungs/      the libraries of the harness
#     lib/cmake/rungs what find_package(rungs) reads, and the steps of a build
#     include/rungs/  the contracts and harness/base; the emulator's CUDA
#     share/man, share/bash-completion
#     share/rungs/    analysis/, plots/, the Python of workers and library variants, scenarios/, the template of `rungs new`, requirements
include(CMakePackageConfigHelpers)
set(to_cmake lib/cmake/rungs)
set(to_share share/rungs)

set(libraries rungs_options rungs_base rungs_verify rungs_plan rungs_device rungs_measure rungs_record rungs_worker rungs_pipeline rungs_cli
    rungs_main)
if(RUNGS_EMULATOR)
    list(APPEND libraries rungs_emulator_options rungs_emulator_engine rungs_emulator_hooks rungs_emulator_host)
    install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/rungs-emulator DESTINATION bin)
    install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/rungs-emulator-race ${CMAKE_BINARY_DIR}/bin/rungs-emulator-memory DESTINATION bin OPTIONAL)
    if(NOT RUNGS_TESTS) # a build for packages: `rungs try` has all emulators
        foreach(kind ${RUNGS_EMULATOR_KINDS})
            add_custom_target(emulator_${kind} ALL DEPENDS ${RUNGS_EMULATOR_PROGRAM_${kind}})
        endforeach()
    endif()
endif()
# What `rungs build` makes and installs: all but the modules of rungs' own variants.
add_custom_target(harness_of_projects)
add_dependencies(harness_of_projects rungs rungs_measure_library ${libraries})
if(RUNGS_EMULATOR)
    add_dependencies(harness_of_projects rungs-emulator)
endif()
install(TARGETS rungs DESTINATION bin)
install(TARGETS ${libraries} EXPORT rungs-targets ARCHIVE DESTINATION lib/rungs RUNTIME DESTINATION lib/rungs)
install(TARGETS rungs_measure_library LIBRARY DESTINATION lib/rungs)
install(EXPORT rungs-targets DESTINATION ${to_cmake})

configure_package_config_file(cmake/rungs-config.cmake.in ${CMAKE_BINARY_DIR}/rungs-config.cmake INSTALL_DESTINATION ${to_cmake})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/rungs-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/rungs-config.cmake ${CMAKE_BINARY_DIR}/rungs-config-version.cmake cmake/project.cmake cmake/modules.cmake
              cmake/emulator.cmake cmake/dependencies.cmake
        DESTINATION ${to_cmake})

install(FILES harness/op.h harness/python_op.h harness/variant.h harness/kernel.h harness/bound.cuh harness/bound.cu DESTINATION include/rungs)
install(DIRECTORY harness/base DESTINATION include/rungs FILES_MATCHING PATTERN *.h)
install(FILES harness/record/program.h DESTINATION include/rungs/record)
install(DIRECTORY emulator DESTINATION include/rungs FILES_MATCHING PATTERN *.h REGEX "/emulator/include/")

install(DIRECTORY analysis plots scenarios template DESTINATION ${to_share} PATTERN __pycache__ EXCLUDE)
install(DIRECTORY harness impls DESTINATION ${to_share} FILES_MATCHING PATTERN *.py PATTERN cuda_apply.cu)
install(DIRECTORY impls DESTINATION ${to_share} FILES_MATCHING PATTERN *.h PATTERN *.cuh) # for `rungs try`
install(DIRECTORY examples/apply DESTINATION ${to_share}/examples)
install(FILES harness/protocol.h DESTINATION ${to_share}/harness) # read by the Python of workers
install(FILES harness/record/row.schema.json DESTINATION ${to_share}/harness/record)
install(FILES harness/base/joined_variants.inc DESTINATION ${to_share}/harness/base)
install(PROGRAMS cmake/python cmake/build_ref.sh cmake/build_project.sh DESTINATION ${to_share}/cmake)
install(FILES cmake/modules.py cmake/program.py cmake/bound.py cmake/kernelbench.py cmake/ptx.py cmake/python_op.py cmake/checkout.py cmake/code_hashes.py cmake/elf_code.py cmake/program.c.in cmake/empty.c DESTINATION ${to_share}/cmake)
install(FILES ${CMAKE_BINARY_DIR}/lib/exports DESTINATION lib/rungs)
install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${RUNGS_TOOLS}/modules.py\" \"${CMAKE_BINARY_DIR}/modules\" --install
                              \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT modules)
install(FILES requirements.txt requirements-gpu.txt requirements-compiled.txt DESTINATION ${to_share})
# The manual page and the completion for bash, from what the program says of itself.
install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} ${RUNGS_TOOLS}/manual.py ${CMAKE_BINARY_DIR}/bin/rungs
                              \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share COMMAND_ERROR_IS_FATAL ANY)")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/rungs)

set(CPACK_PACKAGE_CONTACT "the rungs project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Verifies and measures implementations of one algorithm side by side")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES OFF) # the emulator reads its own symbols
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What a project is built with.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++, cmake (>= 3.24), ninja-build, python3, libjansson-dev, libyaml-dev, libbenchmark-dev, binutils")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bubblewrap, clang, libclang-rt-dev, git, gnuplot-nox, python3-venv")
include(CPack)
