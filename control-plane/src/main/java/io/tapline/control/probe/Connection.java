package io.tapline.control.probe;

import io.tapline.compiler.text.ReadableText;
import io.tapline.flink.TlsFiles;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** A TCP connection, with or without TLS, whose operations share a deadline. Not thread-safe. */
final class Connection implements AutoCloseable {
  private static final int SHOWN_CHARACTERS = 40;

  /** Matches the JDK's messages if a server answers a handshake in plain text or disconnects. */
  private static final Pattern PLAIN =
      Pattern.compile("recognized SSL message|terminated the handshake");

  /** Matches the name of an alert, with which newer JDKs begin a message. */
  private static final Pattern ALERT_NAME = Pattern.compile("^\\([a-z_]+\\) ");

  private final Socket socket;
  private final Deadline deadline;

  private Connection(Socket socket, Deadline deadline) {
    this.socket = socket;
    this.deadline = deadline;
  }

  /**
   * Connects without TLS.
   *
   * @throws Fault if the name does not resolve or no connection can be established
   */
  static Connection open(Address address, Deadline deadline) throws Fault {
    InetAddress[] addresses;
    try {
      addresses = InetAddress.getAllByName(address.host());
    } catch (UnknownHostException e) {
      throw new Fault("the name " + address.host() + " does not resolve; is it spelled right?", e);
    }
    Fault first = null;
    for (InetAddress inetAddress : addresses) {
      try {
        return new Connection(
            connected(new InetSocketAddress(inetAddress, address.port()), deadline), deadline);
      } catch (Fault e) {
        first = first == null ? e : first;
      }
    }
    throw first;
  }

  private static Socket connected(InetSocketAddress address, Deadline deadline) throws Fault {
    Socket socket = new Socket();
    try {
      socket.connect(address, deadline.leftMs());
      return socket;
    } catch (IOException e) {
      close(socket);
      throw e instanceof ConnectException
          ? new Fault("connection refused; is it running, and is the port right?", e)
          : e instanceof SocketTimeoutException
              ? new Fault(
                  "the connection timed out; is the address right, or is there a firewall in between?",
                  e)
              : new Fault("no connection: " + e.getMessage() + "; is the address right?", e);
    }
  }

  /**
   * Connects with TLS.
   *
   * @throws Fault if the connection or the handshake fails; the message suggests a remedy
   */
  static Connection open(Address address, TlsFiles tls, Deadline deadline) throws Fault {
    SSLSocketFactory sockets;
    try {
      sockets = tls.context().getSocketFactory();
    } catch (IOException e) {
      throw new Fault(e.getMessage(), e);
    }
    Connection plainConnection = open(address, deadline);
    try {
      SSLSocket socket =
          (SSLSocket)
              sockets.createSocket(plainConnection.socket, address.host(), address.port(), true);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.setSoTimeout(deadline.leftMs());
      socket.startHandshake();
      return new Connection(socket, deadline);
    } catch (IOException e) {
      plainConnection.close();
      throw handshakeFault(e);
    }
  }

  /** Returns an explanation of a failed handshake, or of an alert that follows it. */
  static Fault handshakeFault(IOException e) {
    String reason = ALERT_NAME.matcher(String.valueOf(e.getMessage())).replaceFirst("");
    if (e instanceof SocketTimeoutException) {
      return new Fault("no answer to a TLS handshake; does it use TLS on this port?", e);
    } else if (reason.contains("PKIX") || reason.contains("valid certification path")) {
      return new Fault("its certificate is not signed by an authority in --tls-ca", e);
    } else if (reason.contains("alert")) {
      return new Fault("it rejects the certificate of --tls-certificate: " + reason, e);
    } else if (!(e instanceof SSLException) || PLAIN.matcher(reason).find()) {
      return new Fault("it does not use TLS; name its TLS port, or omit --tls", e);
    }
    return new Fault("the TLS handshake fails: " + reason, e);
  }

  void send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    socket.getOutputStream().flush();
  }

  /**
   * Reads this number of bytes; fewer if the server closes the connection.
   *
   * @throws SocketTimeoutException at the deadline, even if some bytes have arrived
   */
  byte[] read(int count) throws IOException {
    InputStream in = socket.getInputStream();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    while (bytes.size() < count) {
      socket.setSoTimeout(deadline.leftMs());
      int next = in.read();
      if (next < 0) {
        break;
      }
      bytes.write(next);
    }
    return bytes.toByteArray();
  }

  /**
   * Reads a line and returns it without its line break, truncated if the connection ends earlier or
   * the line is too long.
   */
  String line() throws IOException {
    StringBuilder line = new StringBuilder();
    byte[] next = read(1);
    while (next.length == 1 && next[0] != '\n' && line.length() < 1024) {
      line.append((char) (next[0] & 0xff));
      next = read(1);
    }
    return line.toString().strip();
  }

  /** Returns unexpected bytes in printable form. */
  static String shown(byte[] bytes) {
    String text = new String(bytes, StandardCharsets.ISO_8859_1).lines().findFirst().orElse("");
    String start = text.substring(0, Math.min(text.length(), SHOWN_CHARACTERS));
    return "\"" + ReadableText.of(start) + "\"";
  }

  @Override
  public void close() {
    close(socket);
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // The connection is no longer used, closed or not.
    }
  }
}
