package io.tapline.control.probe;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.NoSuchAlgorithmException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

/** Detects from the first bytes of a server's response to a ClientHello whether it speaks TLS. */
final class TlsHello {
  private static final int ALERT = 0x15;
  private static final int HANDSHAKE = 0x16;
  private static final int MAJOR_VERSION = 3;
  private static final int RECORD_HEADER_BYTES = 5;

  private TlsHello() {}

  /** Returns true if the bytes begin like a TLS record that answers a client. */
  static boolean isTls(byte[] bytes) {
    return bytes.length >= 2
        && (bytes[0] == ALERT || bytes[0] == HANDSHAKE)
        && bytes[1] == MAJOR_VERSION;
  }

  /** Returns true if the server answers in TLS; false also if it does not answer. */
  static boolean isAnswered(Address address, Deadline deadline) {
    try (Connection connection = Connection.open(address, deadline)) {
      connection.send(clientHello(address));
      return isTls(connection.read(RECORD_HEADER_BYTES));
    } catch (IOException | Fault e) {
      return false;
    }
  }

  private static byte[] clientHello(Address address) throws IOException {
    try {
      SSLEngine engine = SSLContext.getDefault().createSSLEngine(address.host(), address.port());
      engine.setUseClientMode(true);
      ByteBuffer hello = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
      engine.wrap(ByteBuffer.allocate(0), hello);
      byte[] bytes = new byte[hello.flip().remaining()];
      hello.get(bytes);
      return bytes;
    } catch (NoSuchAlgorithmException e) {
      throw new IOException(e);
    }
  }
}
