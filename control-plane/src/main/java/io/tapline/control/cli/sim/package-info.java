/** Commands that run the papers' experiments. */
package io.tapline.control.cli.sim;
