# Horovod 0.28.1 asks CMake for C++14, and CMake puts that option last, where CXXFLAGS can not reach it; the headers
# of PyTorch 2.13 need C++20. CMake looks the option for a standard up in these variables, so they name C++20 here.
foreach(standard 11 14 17)
  set(CMAKE_CXX${standard}_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CXX${standard}_EXTENSION_COMPILE_OPTION "-std=gnu++20")
endforeach()
# Horovod builds with debug information by default, which makes the compiler a third slower and helps nobody here.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O3 -DNDEBUG")
