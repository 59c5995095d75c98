/** What every command uses of its process: its output, its errors, its log and signals. */
package io.tapline.control.cli.console;
