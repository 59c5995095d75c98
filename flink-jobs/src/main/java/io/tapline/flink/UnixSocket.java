package io.tapline.flink;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/**
 * A connection to a Unix socket in the form that Jedis expects: a {@link Socket} with timeouts,
 * which the JDK's channels for such sockets lack. One thread may read while another writes.
 */
final class UnixSocket extends Socket {
  private final SocketChannel channel;
  private final Selector readable;
  private volatile int timeoutMs;

  /**
   * Connects.
   *
   * @param timeoutMs timeout of reads and writes, which fail with {@link SocketTimeoutException}; 0
   *     for none
   * @throws IOException if no process listens on the socket, or this process may not connect to it
   */
  UnixSocket(UnixDomainSocketAddress address, int timeoutMs) throws IOException {
    this.timeoutMs = timeoutMs;
    channel = SocketChannel.open(address);
    try {
      channel.configureBlocking(false);
      readable = selector(SelectionKey.OP_READ);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  private Selector selector(int operation) throws IOException {
    Selector selector = Selector.open();
    channel.register(selector, operation);
    return selector;
  }

  private void await(Selector selector) throws IOException {
    // An interrupted thread may still read and write, as with any Socket.
    boolean interrupted = Thread.interrupted();
    try {
      if (selector.select(key -> {}, timeoutMs) == 0) {
        throw new SocketTimeoutException("no response within " + timeoutMs + " ms");
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private int read(ByteBuffer buffer) throws IOException {
    int count = channel.read(buffer);
    while (count == 0 && buffer.hasRemaining()) {
      await(readable);
      count = channel.read(buffer);
    }
    return count;
  }

  /**
   * Writes the bytes. Closes the connection after a failure, so that no write follows an incomplete
   * one.
   */
  private void write(ByteBuffer bytes) throws IOException {
    try {
      channel.write(bytes);
      if (bytes.hasRemaining()) {
        writeRest(bytes);
      }
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  private void writeRest(ByteBuffer bytes) throws IOException {
    try (Selector writable = selector(SelectionKey.OP_WRITE)) {
      while (bytes.hasRemaining()) {
        await(writable);
        channel.write(bytes);
      }
    }
  }

  @Override
  public InputStream getInputStream() {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        return UnixSocket.this.read(ByteBuffer.wrap(bytes, offset, length));
      }
    };
  }

  @Override
  public OutputStream getOutputStream() {
    return new OutputStream() {
      @Override
      public void write(int one) throws IOException {
        write(new byte[] {(byte) one}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        UnixSocket.this.write(ByteBuffer.wrap(bytes, offset, length));
      }
    };
  }

  @Override
  public void setSoTimeout(int newTimeoutMs) {
    timeoutMs = newTimeoutMs;
  }

  @Override
  public int getSoTimeout() {
    return timeoutMs;
  }

  @Override
  public SocketAddress getRemoteSocketAddress() {
    try {
      return channel.getRemoteAddress();
    } catch (IOException e) {
      return null;
    }
  }

  @Override
  public SocketAddress getLocalSocketAddress() {
    return null;
  }

  @Override
  public boolean isBound() {
    return true;
  }

  @Override
  public boolean isConnected() {
    return true;
  }

  @Override
  public boolean isClosed() {
    return !channel.isOpen();
  }

  @Override
  public void close() throws IOException {
    channel.close();
    readable.close();
  }
}
