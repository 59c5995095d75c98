// CMake attaches precompiled headers to a target with sources. This file exists only for that.
