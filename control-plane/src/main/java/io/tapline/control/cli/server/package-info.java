/** Commands that serve: the control plane, the controller, and the tokens of their users. */
package io.tapline.control.cli.server;
