package io.tapline.sdn.simulation;

import java.nio.ByteBuffer;
import java.util.function.Consumer;

/** Splits a connection's bytes into messages, and keeps an incomplete message for later. */
final class MessageBuffer {
  private static final int HEADER_BYTES = 8;

  private ByteBuffer kept = ByteBuffer.allocate(256);

  /** Splits a stream into complete messages without copying. */
  void take(ByteBuffer receivedBuffer, Consumer<ByteBuffer> taker) {
    ByteBuffer bytes = receivedBuffer;
    if (kept.position() > 0) {
      bytes = grown(receivedBuffer.remaining()).put(receivedBuffer).flip();
    }
    while (bytes.remaining() >= HEADER_BYTES) {
      int length = bytes.getShort(bytes.position() + 2) & 0xffff;
      if (bytes.remaining() < length) {
        break;
      }
      taker.accept(bytes.slice(bytes.position(), length));
      bytes.position(bytes.position() + length);
    }
    if (bytes == kept) {
      kept.compact();
    } else {
      grown(bytes.remaining()).put(bytes);
    }
  }

  private ByteBuffer grown(int furtherCount) {
    if (kept.remaining() < furtherCount) {
      kept = ByteBuffer.allocate(2 * (kept.position() + furtherCount)).put(kept.flip());
    }
    return kept;
  }
}
