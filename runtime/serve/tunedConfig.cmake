# tunedConfig.cmake -- find_package(tuned) gives the targets
#   tuned::tuned         the shared library
#   tuned::tuned_static  the one that carries everything
# It lies in lib/cmake/tuned below the prefix, wherever that was moved to.
get_filename_component(_tuned_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET tuned::tuned)
  add_library(tuned::tuned SHARED IMPORTED)
  set_target_properties(tuned::tuned PROPERTIES
    IMPORTED_LOCATION "${_tuned_prefix}/lib/libtuned.so.0"
    IMPORTED_SONAME libtuned.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${_tuned_prefix}/include")
  add_library(tuned::tuned_static STATIC IMPORTED)
  set_target_properties(tuned::tuned_static PROPERTIES
    IMPORTED_LOCATION "${_tuned_prefix}/lib/libtuned.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_INCLUDE_DIRECTORIES "${_tuned_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m;${CMAKE_DL_LIBS}")
endif()
unset(_tuned_prefix)
