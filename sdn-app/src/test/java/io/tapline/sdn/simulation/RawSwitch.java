package io.tapline.sdn.simulation;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.function.UnaryOperator;

/** A connection to a controller on which a test says what it likes. */
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

  /** One that has introduced itself, with four ports. */
  static RawSwitch introduced(int port, long datapath) throws IOException {
    RawSwitch raw = new RawSwitch(port);
    SimulatedSwitch state = new SimulatedSwitch(datapath, 4);
    raw.send(state.hello());
    boolean[] ready = {false};
    while (!ready[0]) {
      raw.answer(
          state,
          1,
          answer -> {
            ready[0] |= answer.get(1) == 19;
            return answer;
          });
    }
    return raw;
  }

  /** One that answers as it should until it is closed, on a thread of its own. */
  static RawSwitch answering(int port, long datapath) throws IOException {
    RawSwitch raw = new RawSwitch(port);
    SimulatedSwitch state = new SimulatedSwitch(datapath, 4);
    raw.send(state.hello());
    Thread thread =
        new Thread(
            () -> {
              try {
                raw.answer(state, Integer.MAX_VALUE, answer -> answer);
              } catch (IOException | UncheckedIOException e) {
                // Closed.
              }
            },
            "raw-switch");
    thread.setDaemon(true);
    thread.start();
    return raw;
  }

  /** Answers so many messages as a switch would, with each answer changed by a function. */
  void answer(SimulatedSwitch state, int messages, UnaryOperator<ByteBuffer> changed)
      throws IOException {
    SimulatedSwitch.Output output =
        new SimulatedSwitch.Output() {
          @Override
          public void send(ByteBuffer answer) {
            sendUnchecked(changed.apply(answer));
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

  /** Waits for the end of the connection, whatever comes before. */
  void awaitCut() {
    try {
      while (in.read() >= 0) {
        // Continues.
      }
    } catch (java.net.SocketTimeoutException e) {
      throw new AssertionError("not cut off", e);
    } catch (IOException e) {
      // A reset is an end, too.
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
