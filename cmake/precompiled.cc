// CMake attaches precompiled headers to a target with sources; this file exists for that alone.
