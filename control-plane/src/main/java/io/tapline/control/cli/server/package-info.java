/** Commands that serve: the control plane, the controller, and who may use them. */
package io.tapline.control.cli.server;
