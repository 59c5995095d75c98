/**
 * The program {@code tapline}, with one class per command. Exit codes: 0 for success, 1 for
 * failure, 2 for wrong usage.
 */
package io.tapline.control.cli;
