package io.tapline.sdn.simulation;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.function.UnaryOperator;

/** A connection to a controller on which a test can send any bytes. */
final class RawSwitch implements AutoCloseable {
  private static final int TIMEOUT_MS = 30_000;

  final Socket socket;
  private final DataInputStream in;
  private final OutputStream out;

  RawSwitch(int port) throws IOException {
    socket = new Socket();
    socket.setReceiveBufferSize(8192);
    socket.setSoTimeout(TIMEOUT_MS);
    socket.connect(new java.net.InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    in = new DataInputStream(socket.getInputStream());
    out = socket.getOutputStream();
  }

  /** Returns a connection from a switch with four ports, after the handshake. */
  static RawSwitch introduced(int port, long datapath) throws IOException {
    RawSwitch raw = new RawSwitch(port);
    SimulatedSwitch state = new SimulatedSwitch(datapath, 4);
    raw.send(state.hello());
    boolean[] ready = {false};
    while (!ready[0]) {
      raw.answer(
          state,
          1,
          response -> {
            ready[0] |= response.get(1) == 19;
            return response;
          });
    }
    return raw;
  }

  /** Returns a connection that answers correctly on a separate thread until it is closed. */
  static RawSwitch answering(int port, long datapath) throws IOException {
    RawSwitch raw = new RawSwitch(port);
    SimulatedSwitch state = new SimulatedSwitch(datapath, 4);
    raw.send(state.hello());
    Thread thread =
        new Thread(
            () -> {
              try {
                raw.answer(state, Integer.MAX_VALUE, response -> response);
              } catch (IOException | UncheckedIOException e) {
                // The connection is closed.
              }
            },
            "raw-switch");
    thread.setDaemon(true);
    thread.start();
    return raw;
  }

  /**
   * Answers this many messages as a switch would, after passing each response through a function.
   */
  void answer(SimulatedSwitch state, int messages, UnaryOperator<ByteBuffer> changedOperator)
      throws IOException {
    SimulatedSwitch.Output output =
        new SimulatedSwitch.Output() {
          @Override
          public void send(ByteBuffer response) {
            sendUnchecked(changedOperator.apply(response));
          }

          @Override
          public void frame(int toPort, byte[] frame) {}
        };
    for (int i = 0; i < messages; i++) {
      state.take(read(), output);
    }
  }

  private void sendUnchecked(ByteBuffer message) {
    try {
      send(message);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  synchronized void send(ByteBuffer message) throws IOException {
    out.write(message.array(), message.arrayOffset() + message.position(), message.remaining());
  }

  synchronized void send(byte[] bytes) throws IOException {
    out.write(bytes);
  }

  ByteBuffer read() throws IOException {
    byte[] header = in.readNBytes(4);
    if (header.length < 4) {
      throw new IOException("cut off");
    }
    int length = ByteBuffer.wrap(header).getShort(2) & 0xffff;
    ByteBuffer message = ByteBuffer.allocate(length).put(header);
    in.readFully(message.array(), 4, length - 4);
    return message.rewind();
  }

  /** Waits for the end of the connection and ignores everything received before it. */
  void awaitCut() {
    try {
      while (in.read() >= 0) {
        // Ignores the byte.
      }
    } catch (java.net.SocketTimeoutException e) {
      throw new AssertionError("not cut off", e);
    } catch (IOException e) {
      // A reset also ends the connection.
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
