# Read by CMake through the variable CMAKE_TOOLCHAIN_FILE. It only asks for a file after Horovod's project() call:
# what that file sets would be overwritten by CMake's own look at the compiler if it were set here.
set(CMAKE_PROJECT_horovod_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/release.cmake")
