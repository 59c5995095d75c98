// CMake attaches precompiled headers to a target with sources; this one has nothing else.
