package io.tapline.matrix;

import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/** Opens TLS connections. */
final class TlsConnector {
  private static final int TIMEOUT_MS = 20_000;

  /**
   * Time to wait for a refusal: in TLS 1.3, the client completes the handshake before the server
   * has checked the client's certificate.
   */
  private static final int REFUSAL_MS = 2_000;

  private TlsConnector() {}

  /** Opens a connection and completes the handshake. */
  static SSLSocket open(String host, int port, TlsFiles own) throws IOException, Refused {
    Socket plain = new Socket();
    plain.connect(new InetSocketAddress(host, port), TIMEOUT_MS);
    SSLSocket socket =
        (SSLSocket) own.context().getSocketFactory().createSocket(plain, host, port, true);
    socket.setSoTimeout(TIMEOUT_MS);
    // gRPC closes connections without ALPN; other servers ignore ALPN.
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setApplicationProtocols(new String[] {"h2"});
    socket.setSSLParameters(parameters);
    try {
      socket.startHandshake();
      return socket;
    } catch (SSLException e) {
      socket.close();
      throw new Refused(e.getMessage());
    }
  }

  /** Connects, and waits for the server to reject the certificate, for REFUSAL_MS at most. */
  static void connect(String host, int port, TlsFiles own) throws IOException, Refused {
    try (SSLSocket socket = open(host, port, own)) {
      socket.setSoTimeout(REFUSAL_MS);
      if (socket.getInputStream().read() < 0) {
        throw new Refused("the connection was closed");
      }
    } catch (SocketTimeoutException waits) {
      // The server kept the connection open and waits for a request.
    } catch (SSLException e) {
      throw new Refused(e.getMessage());
    } catch (SocketException e) {
      throw new Refused(e.getMessage());
    }
  }

  /** Reads an exact number of bytes. */
  static byte[] read(InputStream in, int length) throws IOException, Refused {
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new Refused("the connection was closed");
    }
    return bytes;
  }
}
