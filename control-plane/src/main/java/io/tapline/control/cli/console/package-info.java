/** Standard output and error, error messages, logging and signal handling of all commands. */
package io.tapline.control.cli.console;
