package io.tapline.sdn.openflow;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.TokenBucket;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Splits a connection's bytes into messages: version (1 byte), type (1), total length (2), xid (4).
 * Drops packet-ins beyond the switch's rate limit without decoding them, and briefly pauses reading
 * from a switch that sends many of them.
 */
final class FrameDecoder extends ByteToMessageDecoder {
  private static final int HEADER_BYTES = 8;
  private static final int PACKET_IN = 10;
  private static final int DROPS_BEFORE_PAUSE = 1000;
  private static final int PAUSE_MS = 20;

  private final Counters counters;
  private final TokenBucket packetIns;
  private int drops;

  FrameDecoder(Counters counters, Limits limits) {
    this.counters = counters;
    this.packetIns = new TokenBucket(limits.packetInsPerSecond(), System.nanoTime());
  }

  @Override
  protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
    if (in.readableBytes() < HEADER_BYTES) {
      return;
    }
    int length = in.getUnsignedShort(in.readerIndex() + 2);
    if (length < HEADER_BYTES) {
      counters.add(Counter.MALFORMED_MESSAGES);
      counters.add(Counter.MALFORMED_CUTS);
      in.skipBytes(in.readableBytes());
      context.close();
      return;
    }
    if (in.readableBytes() < length) {
      return;
    }
    counters.add(Counter.MESSAGES_IN);
    if (in.getByte(in.readerIndex() + 1) == PACKET_IN && !packetIns.take(System.nanoTime())) {
      in.skipBytes(length);
      dropped(context);
      return;
    }
    out.add(in.readRetainedSlice(length));
  }

  private void dropped(ChannelHandlerContext context) {
    counters.add(Counter.PACKET_INS_DROPPED);
    if (++drops % DROPS_BEFORE_PAUSE == 0 && context.channel().config().isAutoRead()) {
      context.channel().config().setAutoRead(false);
      context
          .executor()
          .schedule(
              () -> context.channel().config().setAutoRead(true), PAUSE_MS, TimeUnit.MILLISECONDS);
    }
  }
}
