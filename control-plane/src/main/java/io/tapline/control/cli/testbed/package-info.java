/** Commands that create and remove a network on this host. */
package io.tapline.control.cli.testbed;
