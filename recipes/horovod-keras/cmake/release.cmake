# Horovod builds with debug information by default, which makes the compiler a third slower and helps nobody here.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O3 -DNDEBUG")
