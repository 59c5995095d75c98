/** Commands that search the headers that hosts kept, and watch for new ones. */
package io.tapline.control.cli.drill;
