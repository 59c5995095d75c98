package io.tapline.control.probe;

import java.io.IOException;

/** Checks over a connection that a server is of the expected kind. */
interface ProtocolCheck {
  /**
   * Checks the server at the other end of the connection.
   *
   * @throws Fault if the server is of the expected kind, but can't be used in its current state
   * @throws java.net.ProtocolException if the response is that of another kind of server; the
   *     message continues a sentence that names the server
   * @throws IOException if the server does not respond
   */
  void check(Connection connection) throws IOException, Fault;
}
