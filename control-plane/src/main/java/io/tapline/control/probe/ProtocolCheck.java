package io.tapline.control.probe;

import java.io.IOException;

/** Checks over a connection that a server is of the expected kind. */
interface ProtocolCheck {
  /**
   * Checks the server at the other end of the connection.
   *
   * @throws Fault if the server is of the expected kind, but can't be used in its current state
   * @throws java.net.ProtocolException if another kind of server responded; the message is shown
   *     after the server's name and a colon
   * @throws IOException if the server does not respond
   */
  void check(Connection connection) throws IOException, Fault;
}
