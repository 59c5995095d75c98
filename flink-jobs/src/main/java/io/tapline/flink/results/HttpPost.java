package io.tapline.flink.results;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * One POST request over HTTP/1.1 on its own connection, to addresses that were already resolved and
 * checked. Java's HttpClient would resolve the name again, and could get other addresses. TLS
 * verifies the name, and the Host header contains it. Only the response's status is read; redirects
 * are not followed.
 */
final class HttpPost implements Closeable {
  private static final int MAX_HEADER_BYTES = 16 << 10;
  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.[01] ([1-5][0-9]{2})( .*)?");

  private final URI uri;
  private final SSLSocketFactory tls;
  private final Duration timeout;
  private Socket socket = new Socket();
  private boolean closed;

  /**
   * Creates a request.
   *
   * @param timeout timeout for the whole request, including connecting
   */
  HttpPost(URI uri, SSLSocketFactory tls, Duration timeout) {
    this.uri = uri;
    this.tls = tls;
    this.timeout = timeout;
  }

  static int port(URI uri) {
    int standard = isEncrypted(uri) ? 443 : 80;
    return uri.getPort() < 0 ? standard : uri.getPort();
  }

  private static boolean isEncrypted(URI uri) {
    return "https".equals(uri.getScheme());
  }

  /**
   * Posts a body.
   *
   * @param addresses tried in order; the first one that accepts a connection receives the body
   * @return the response's status
   */
  int send(List<InetAddress> addresses, Map<String, String> headers, byte[] body)
      throws IOException {
    CompletableFuture<Void> late =
        CompletableFuture.runAsync(
            this::close,
            CompletableFuture.delayedExecutor(timeout.toMillis(), TimeUnit.MILLISECONDS));
    try {
      Socket connected = connected(addresses);
      Socket stream = isEncrypted(uri) ? encrypted(connected) : connected;
      stream.getOutputStream().write(request(headers, body));
      stream.getOutputStream().flush();
      return status(new BufferedInputStream(stream.getInputStream()));
    } catch (IOException e) {
      throw isClosed() ? new IOException("no response within " + timeout.toMillis() + " ms", e) : e;
    } finally {
      late.cancel(false);
      close();
    }
  }

  private Socket connected(List<InetAddress> addresses) throws IOException {
    IOException fault = new IOException("the host has no address");
    for (InetAddress address : addresses) {
      try {
        Socket next = renewed();
        int share = (int) timeout.toMillis() / addresses.size();
        next.connect(new InetSocketAddress(address, port(uri)), share);
        return next;
      } catch (IOException e) {
        fault = e;
      }
    }
    throw fault;
  }

  private synchronized Socket renewed() throws IOException {
    socket.close();
    if (closed) {
      throw new IOException("the request was aborted");
    }
    socket = new Socket();
    return socket;
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  private SSLSocket encrypted(Socket plainSocket) throws IOException {
    String host = uri.getHost().replaceAll("[\\[\\]]", "");
    SSLSocket encrypted = (SSLSocket) tls.createSocket(plainSocket, host, port(uri), true);
    SSLParameters parameters = encrypted.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    if (!host.contains(":") && !host.matches("[0-9.]+")) {
      parameters.setServerNames(List.of(new SNIHostName(host)));
    }
    encrypted.setSSLParameters(parameters);
    encrypted.startHandshake();
    return encrypted;
  }

  private byte[] request(Map<String, String> headers, byte[] body) {
    String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
    StringBuilder head = new StringBuilder(512);
    head.append("POST ").append(uri.getRawPath()).append(query).append(" HTTP/1.1\r\n");
    head.append("Host: ").append(uri.getRawAuthority()).append("\r\n");
    headers.forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
    head.append("Content-Length: ").append(body.length).append("\r\n");
    head.append("Connection: close\r\n\r\n");
    byte[] start = head.toString().getBytes(StandardCharsets.US_ASCII);
    byte[] request = new byte[start.length + body.length];
    System.arraycopy(start, 0, request, 0, start.length);
    System.arraycopy(body, 0, request, start.length, body.length);
    return request;
  }

  /** Returns the status of the final response; skips interim responses (1xx) with their headers. */
  private static int status(InputStream in) throws IOException {
    int[] left = {MAX_HEADER_BYTES};
    while (true) {
      String line = line(in, left);
      Matcher status = STATUS.matcher(line);
      if (!status.matches()) {
        throw new IOException("the response is not HTTP/1.1");
      }
      int code = Integer.parseInt(status.group(1));
      if (code >= 200) {
        return code;
      }
      while (!line.isEmpty()) {
        line = line(in, left);
      }
    }
  }

  private static String line(InputStream in, int[] left) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new IOException("the connection ended before the response");
      } else if (--left[0] < 0) {
        throw new IOException("the response's header is too long");
      }
      line.append((char) c);
    }
    return line.toString().stripTrailing();
  }

  /** Aborts a running request. */
  @Override
  public synchronized void close() {
    closed = true;
    try {
      socket.close();
    } catch (IOException e) {
      // No caller waits for this error.
    }
  }
}
