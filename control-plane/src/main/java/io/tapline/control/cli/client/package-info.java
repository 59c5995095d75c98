/** The client of a server's REST interface. */
package io.tapline.control.cli.client;
