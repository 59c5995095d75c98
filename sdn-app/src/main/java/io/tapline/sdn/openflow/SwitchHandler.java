package io.tapline.sdn.openflow;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.tapline.sdn.controller.Counter;
import io.tapline.sdn.controller.Counters;
import io.tapline.sdn.controller.Limits;
import io.tapline.sdn.controller.SwitchListener;
import java.util.ArrayList;
import java.util.List;
import org.projectfloodlight.openflow.exceptions.OFParseError;
import org.projectfloodlight.openflow.protocol.OFBarrierReply;
import org.projectfloodlight.openflow.protocol.OFEchoReply;
import org.projectfloodlight.openflow.protocol.OFEchoRequest;
import org.projectfloodlight.openflow.protocol.OFErrorMsg;
import org.projectfloodlight.openflow.protocol.OFFactories;
import org.projectfloodlight.openflow.protocol.OFFeaturesReply;
import org.projectfloodlight.openflow.protocol.OFFlowStatsReply;
import org.projectfloodlight.openflow.protocol.OFHello;
import org.projectfloodlight.openflow.protocol.OFMessage;
import org.projectfloodlight.openflow.protocol.OFPacketIn;
import org.projectfloodlight.openflow.protocol.OFPortDesc;
import org.projectfloodlight.openflow.protocol.OFPortDescStatsReply;
import org.projectfloodlight.openflow.protocol.OFPortReason;
import org.projectfloodlight.openflow.protocol.OFPortStatsReply;
import org.projectfloodlight.openflow.protocol.OFPortStatus;
import org.projectfloodlight.openflow.protocol.OFStatsReplyFlags;
import org.projectfloodlight.openflow.protocol.OFVersion;
import org.projectfloodlight.openflow.protocol.match.MatchField;
import org.projectfloodlight.openflow.types.OFPort;

/** One connection: hello, features, ports, and from then on what the switch says. */
final class SwitchHandler extends SimpleChannelInboundHandler<ByteBuf> {
  private enum Phase {
    HELLO,
    FEATURES,
    PORTS,
    READY
  }

  private final SwitchListener listener;
  private final Counters counters;
  private final Limits limits;
  private final List<PortMessages.Entry> ports = new ArrayList<>();
  private Phase phase = Phase.HELLO;
  private NettySwitch connection;
  private long datapath;
  private int malformed;
  private long beganNs;
  private long heardNs;
  private boolean echoSent;

  SwitchHandler(SwitchListener listener, Counters counters, Limits limits) {
    this.listener = listener;
    this.counters = counters;
    this.limits = limits;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    beganNs = System.nanoTime();
    heardNs = beganNs;
    counters.add(Counter.CONNECTIONS);
    ByteBuf hello = context.alloc().buffer();
    Versions.hello().writeTo(hello);
    context.writeAndFlush(hello);
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    counters.add(Counter.DISCONNECTIONS);
    if (phase == Phase.READY) {
      phase = Phase.HELLO;
      connection.gone();
      listener.disconnected(connection);
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }

  /** Cuts off whom nothing is heard of; asks before. */
  void tick(ChannelHandlerContext context, long nowNs) {
    if (phase != Phase.READY) {
      if (nowNs - beganNs > limits.handshakeNs()) {
        close(context, Counter.HANDSHAKE_TIMEOUTS);
      }
    } else if (nowNs - heardNs > limits.silenceNs()) {
      close(context, Counter.SILENT_SWITCHES);
    } else if (nowNs - heardNs > limits.silenceNs() / 3 && !echoSent) {
      echoSent = true;
      connection.sendEcho();
    } else {
      connection.cutIfSlow(nowNs);
    }
  }

  private void close(ChannelHandlerContext context, Counter why) {
    counters.add(why);
    context.close();
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
    heardNs = System.nanoTime();
    echoSent = false;
    OFMessage message;
    try {
      message = read(bytes);
    } catch (OFParseError | RuntimeException e) {
      malformed(context);
      return;
    }
    try {
      take(context, message);
    } catch (UnsupportedOperationException | IllegalArgumentException e) {
      malformed(context);
    }
  }

  private OFMessage read(ByteBuf bytes) throws OFParseError {
    int version = bytes.getUnsignedByte(bytes.readerIndex());
    boolean hello = phase == Phase.HELLO;
    boolean right = hello || version == connection.factory().getVersion().getWireVersion();
    OFMessage message = right ? OFFactories.getGenericReader().readFrom(bytes) : null;
    if (message == null || bytes.isReadable()) {
      throw new OFParseError("version, or bytes left");
    }
    return message;
  }

  private void malformed(ChannelHandlerContext context) {
    counters.add(Counter.MALFORMED_MESSAGES);
    if (++malformed > limits.mostMalformed()) {
      close(context, Counter.MALFORMED_CUTS);
    }
  }

  private void take(ChannelHandlerContext context, OFMessage message) {
    if (message instanceof OFHello hello && phase == Phase.HELLO) {
      hello(context, hello);
    } else if (phase == Phase.HELLO) {
      counters.add(Counter.UNEXPECTED_MESSAGES);
    } else if (message instanceof OFEchoRequest request) {
      connection.answer(request);
    } else if (message instanceof OFFeaturesReply features && phase == Phase.FEATURES) {
      datapath = features.getDatapathId().getLong();
      phase = Phase.PORTS;
      connection.askPorts();
    } else if (message instanceof OFPortDescStatsReply reply && phase == Phase.PORTS) {
      ports(context, reply);
    } else if (phase == Phase.READY) {
      ready(context, message);
    } else if (!(message instanceof OFErrorMsg) && !(message instanceof OFPortStatus)) {
      counters.add(Counter.UNEXPECTED_MESSAGES);
    }
  }

  private void hello(ChannelHandlerContext context, OFHello hello) {
    OFVersion version = Versions.common(hello).orElse(null);
    if (version == null) {
      ByteBuf error = context.alloc().buffer();
      OFFactories.getFactory(OFVersion.OF_13)
          .errorMsgs()
          .buildHelloFailedErrorMsg()
          .setXid(hello.getXid())
          .setCode(org.projectfloodlight.openflow.protocol.OFHelloFailedCode.INCOMPATIBLE)
          .setData(org.projectfloodlight.openflow.types.OFErrorCauseData.NONE)
          .build()
          .writeTo(error);
      context.writeAndFlush(error);
      close(context, Counter.VERSION_MISMATCHES);
      return;
    }
    connection =
        new NettySwitch(context.channel(), OFFactories.getFactory(version), counters, limits);
    phase = Phase.FEATURES;
    connection.askFeatures();
  }

  private void ports(ChannelHandlerContext context, OFPortDescStatsReply reply) {
    for (OFPortDesc port : reply.getEntries()) {
      ports.add(new PortMessages.Entry(port));
    }
    if (ports.size() > limits.mostFlows()) {
      close(context, Counter.OVERSIZED_REPLIES);
    } else if (!reply.getFlags().contains(OFStatsReplyFlags.REPLY_MORE)) {
      phase = Phase.READY;
      connection.introduced(datapath);
      if (!listener.connected(connection, PortMessages.states(ports))) {
        phase = Phase.HELLO;
        connection.gone();
        close(context, Counter.REFUSED_CONNECTIONS);
      }
      ports.clear();
    }
  }

  private void ready(ChannelHandlerContext context, OFMessage message) {
    if (message instanceof OFPacketIn packet) {
      OFPort port = packet.getMatch().get(MatchField.IN_PORT);
      if (port == null) {
        malformed(context);
      } else {
        counters.add(Counter.PACKET_INS);
        listener.packetIn(connection, port.getPortNumber(), packet.getData());
      }
    } else if (message instanceof OFBarrierReply reply) {
      connection.barrierDone(reply.getXid());
    } else if (message instanceof OFFlowStatsReply reply) {
      connection.take(reply, listener);
    } else if (message instanceof OFPortStatsReply reply) {
      listener.portCounters(connection, PortMessages.counters(reply));
    } else if (message instanceof OFPortStatus status) {
      boolean gone = status.getReason() == OFPortReason.DELETE;
      listener.portChanged(connection, PortMessages.state(status.getDesc(), gone));
    } else if (message instanceof OFErrorMsg error) {
      counters.add(Counter.SWITCH_ERRORS);
      listener.refused(connection, PortMessages.text(error));
    } else if (!(message instanceof OFEchoReply) && !connection.isBundleReply(message)) {
      counters.add(Counter.UNEXPECTED_MESSAGES);
    }
  }
}
