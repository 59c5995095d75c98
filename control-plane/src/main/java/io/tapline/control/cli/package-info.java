/**
 * The program {@code tapline}: one class per command, and their output. Exit codes: 0 for success,
 * 1 for failure, 2 for wrong usage.
 */
package io.tapline.control.cli;
