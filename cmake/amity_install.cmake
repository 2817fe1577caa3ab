# What `cmake --install` puts in place: library, public headers, the amity command, and the two ways to find them:
# a CMake package (find_package(amity)) and a pkg-config file. Both name no absolute path: the tree can be moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/amity)

install(TARGETS amity EXPORT amity_targets FILE_SET HEADERS)
foreach(mpi IN LISTS AMITY_MPIS)
  install(TARGETS amity_mpi_${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/amity)
  if(TARGET amity_drop_in_${mpi})
    install(TARGETS amity_drop_in_${mpi} EXPORT amity_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/amity)
    install(FILES ${PROJECT_SOURCE_DIR}/amity/interop/mpi/mpix_am.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    # A source: the files of modules belong to one compiler.
    install(FILES ${PROJECT_SOURCE_DIR}/amity/interop/mpi/mpix_am_f08.F90 DESTINATION ${CMAKE_INSTALL_DATADIR}/amity/fortran)
  endif()
endforeach()
if(TARGET amity_shmem)
  install(TARGETS amity_shmem EXPORT amity_targets)
endif()
if(TARGET amity_shmemx)
  install(TARGETS amity_shmemx EXPORT amity_targets)
endif()
if(TARGET amity_command)
  install(TARGETS amity_command)
  set_property(TARGET amity_command APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/amity")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/networks DESTINATION ${CMAKE_INSTALL_DATADIR}/amity)
endif()

install(EXPORT amity_targets NAMESPACE amity:: DESTINATION ${package_dir})
get_target_property(type amity TYPE)
string(COMPARE EQUAL ${type} STATIC_LIBRARY amity_is_static)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/amity-config.cmake.in amity-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_DATADIR NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what the one before it promised.
write_basic_package_version_file(amity-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/amity-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/amity-config-version.cmake
  DESTINATION ${package_dir})

# A program links what a static amity needs itself; a shared amity brings its own. Only one of the two is installed,
# so a plain `pkg-config --libs amity` gives the right line for it, with `--static` or without.
if(amity_is_static)
  set(pc_public_requires fmt)
  set(pc_public_libs " -lboost_context -pthread -lstdc++ -lm")  # C programs link it, too
  if(AMITY_MPIS)
    string(APPEND pc_public_libs " -Wl,-rpath,\${libdir}/amity")  # where programs find amity's modules
  endif()
else()
  set(pc_private_requires fmt)
  set(pc_private_libs "-lboost_context -pthread")
endif()
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
configure_file(${CMAKE_CURRENT_LIST_DIR}/amity.pc.in amity.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/amity.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Programs of another OpenSHMEM link its compiler wrapper's libraries behind this one.
if(TARGET amity_shmemx)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/amity-shmemx.pc.in amity-shmemx.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/amity-shmemx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Programs of an MPI link this library before the MPI, and find it where it is installed.
foreach(mpi IN LISTS AMITY_MPIS)
  if(TARGET amity_drop_in_${mpi})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/amity-mpi-windows.pc.in amity-mpi-windows-${mpi}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/amity-mpi-windows-${mpi}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endforeach()
