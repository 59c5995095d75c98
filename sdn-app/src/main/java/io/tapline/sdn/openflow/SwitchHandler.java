package io.tapline.sdn.openflow;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.ssl.SslHandler;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.LogLimit;
import io.tapline.sdn.switches.PortCounters;
import io.tapline.sdn.switches.PortState;
import io.tapline.sdn.switches.SwitchListener;
import io.tapline.sdn.switches.SwitchTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.projectfloodlight.openflow.exceptions.OFParseError;
import org.projectfloodlight.openflow.protocol.OFBarrierReply;
import org.projectfloodlight.openflow.protocol.OFBundleCtrlMsg;
import org.projectfloodlight.openflow.protocol.OFEchoReply;
import org.projectfloodlight.openflow.protocol.OFEchoRequest;
import org.projectfloodlight.openflow.protocol.OFErrorMsg;
import org.projectfloodlight.openflow.protocol.OFFactories;
import org.projectfloodlight.openflow.protocol.OFFeaturesReply;
import org.projectfloodlight.openflow.protocol.OFFlowStatsReply;
import org.projectfloodlight.openflow.protocol.OFHello;
import org.projectfloodlight.openflow.protocol.OFMessage;
import org.projectfloodlight.openflow.protocol.OFPacketIn;
import org.projectfloodlight.openflow.protocol.OFPortDescStatsReply;
import org.projectfloodlight.openflow.protocol.OFPortReason;
import org.projectfloodlight.openflow.protocol.OFPortStatsReply;
import org.projectfloodlight.openflow.protocol.OFPortStatus;
import org.projectfloodlight.openflow.protocol.OFStatsReplyFlags;
import org.projectfloodlight.openflow.protocol.OFVersion;
import org.projectfloodlight.openflow.protocol.match.MatchField;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Handles one connection: hello, features, ports, then the switch's messages. */
final class SwitchHandler extends SimpleChannelInboundHandler<ByteBuf> {
  private static final Logger LOG = LoggerFactory.getLogger(SwitchHandler.class);
  private static final Logger AUDIT = LoggerFactory.getLogger("tapline.audit");

  private enum Phase {
    HELLO,
    FEATURES,
    PORTS,
    READY
  }

  private final Optional<SwitchTls> tls;
  private final SwitchListener listener;
  private final Counters counters;
  private final Limits limits;
  private final LogLimit refusals;
  private final List<PortState> ports = new ArrayList<>();
  private Phase phase = Phase.HELLO;
  private NettySwitch connection;
  private long datapath;
  private int malformed;
  private long beganNs;
  private long heardNs;
  private boolean echoSent;

  SwitchHandler(
      Optional<SwitchTls> tls,
      SwitchListener listener,
      Counters counters,
      Limits limits,
      LogLimit refusals) {
    this.tls = tls;
    this.listener = listener;
    this.counters = counters;
    this.limits = limits;
    this.refusals = refusals;
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
    // The cause is also an SSLException if the peer does not use TLS, or does not present the
    // required certificate.
    if (cause.getCause() instanceof SSLException refusedException) {
      counters.add(Counter.TLS_FAILURES);
      String host = host(context);
      report(host, host + ": " + refusedException.getMessage());
    } else if (!(cause instanceof IOException)) {
      LOG.error("can't process a switch's message; closing its connection", cause);
      counters.add(Counter.INTERNAL_ERRORS);
    }
    context.close();
  }

  /**
   * Closes the connection if the handshake takes too long, or if the switch stays silent for too
   * long, even after an echo request. Otherwise, disconnects a switch that reads too slowly.
   */
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

  private void close(ChannelHandlerContext context, Counter reason) {
    counters.add(reason);
    context.close();
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
    heardNs = System.nanoTime();
    echoSent = false;
    Runnable work;
    try {
      work = understood(context, read(bytes));
    } catch (OFParseError | RuntimeException e) {
      LOG.debug("malformed message from {}", context.channel().remoteAddress(), e);
      malformed(context);
      return;
    }
    work.run();
  }

  private OFMessage read(ByteBuf bytes) throws OFParseError {
    int version = bytes.getUnsignedByte(bytes.readerIndex());
    boolean isHello = phase == Phase.HELLO;
    boolean isRight = isHello || version == connection.factory().getVersion().getWireVersion();
    OFMessage message = isRight ? OFFactories.getGenericReader().readFrom(bytes) : null;
    if (message == null || bytes.isReadable()) {
      throw new OFParseError("wrong version, or trailing bytes");
    }
    return message;
  }

  private void malformed(ChannelHandlerContext context) {
    counters.add(Counter.MALFORMED_MESSAGES);
    if (++malformed > limits.maxMalformed()) {
      close(context, Counter.MALFORMED_CUTS);
    }
  }

  /** Finishes decoding a message, and returns the action to run for it. */
  private Runnable understood(ChannelHandlerContext context, OFMessage message) {
    if (message instanceof OFHello hello && phase == Phase.HELLO) {
      Optional<OFVersion> version = Versions.common(hello);
      return () -> hello(context, hello, version);
    } else if (phase == Phase.HELLO) {
      return unexpected();
    } else if (message instanceof OFEchoRequest request) {
      return () -> connection.answer(request);
    } else if (message instanceof OFFeaturesReply features && phase == Phase.FEATURES) {
      return () -> features(context, features.getDatapathId().getLong());
    } else if (message instanceof OFPortDescStatsReply reply && phase == Phase.PORTS) {
      List<PortState> someStates = PortMessages.states(reply);
      boolean hasMore = reply.getFlags().contains(OFStatsReplyFlags.REPLY_MORE);
      return () -> ports(context, someStates, hasMore);
    } else if (phase == Phase.READY) {
      return ready(message);
    }
    boolean isEarly = message instanceof OFErrorMsg || message instanceof OFPortStatus;
    return isEarly ? () -> {} : unexpected();
  }

  private Runnable unexpected() {
    return () -> counters.add(Counter.UNEXPECTED_MESSAGES);
  }

  private void features(ChannelHandlerContext context, long number) {
    if (!mayBe(context, number)) {
      close(context, Counter.FOREIGN_DATAPATHS);
      return;
    }
    datapath = number;
    phase = Phase.PORTS;
    connection.requestPorts();
  }

  /**
   * Returns true if the connection's certificate is valid for this datapath ID, or no certificate
   * is required.
   */
  private boolean mayBe(ChannelHandlerContext context, long number) {
    if (tls.isEmpty()) {
      return true;
    }
    SSLSession session = context.pipeline().get(SslHandler.class).engine().getSession();
    try {
      SwitchCertificate certificate = SwitchCertificate.of(session);
      String refusal = certificate.refusal(number, tls.get().anyDatapath());
      if (!refusal.isEmpty()) {
        report(certificate.subject() + ' ' + number, host(context) + ": " + refusal);
      }
      return refusal.isEmpty();
    } catch (SSLPeerUnverifiedException e) {
      // Unreachable: the handshake requires a certificate.
      throw new IllegalStateException(e);
    }
  }

  private void report(String subject, String reason) {
    if (refusals.take(subject, System.nanoTime())) {
      AUDIT.info("rejected a switch at {}", reason);
    }
  }

  private static String host(ChannelHandlerContext context) {
    return context.channel().remoteAddress() instanceof InetSocketAddress at
        ? at.getAddress().getHostAddress()
        : "an unknown address";
  }

  private void hello(ChannelHandlerContext context, OFHello hello, Optional<OFVersion> version) {
    if (version.isEmpty()) {
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
        new NettySwitch(context.channel(), OFFactories.getFactory(version.get()), counters, limits);
    phase = Phase.FEATURES;
    connection.requestFeatures();
  }

  private void ports(ChannelHandlerContext context, List<PortState> someStates, boolean hasMore) {
    ports.addAll(someStates);
    if (ports.size() > limits.maxFlows()) {
      close(context, Counter.OVERSIZED_REPLIES);
    } else if (!hasMore) {
      phase = Phase.READY;
      connection.introduced(datapath);
      if (!listener.connected(connection, List.copyOf(ports))) {
        phase = Phase.HELLO;
        connection.gone();
        close(context, Counter.REFUSED_CONNECTIONS);
      }
      ports.clear();
    }
  }

  private Runnable ready(OFMessage message) {
    if (message instanceof OFPacketIn packet) {
      int port = packet.getMatch().get(MatchField.IN_PORT).getPortNumber();
      byte[] frame = packet.getData();
      return () -> {
        counters.add(Counter.PACKET_INS);
        listener.packetIn(connection, port, frame);
      };
    } else if (message instanceof OFBarrierReply reply) {
      return () -> connection.barrierDone(reply.getXid());
    } else if (message instanceof OFFlowStatsReply reply) {
      List<ObservedFlow> someFlows = reply.getEntries().stream().map(FlowCodec::decode).toList();
      boolean hasMore = reply.getFlags().contains(OFStatsReplyFlags.REPLY_MORE);
      return () -> connection.take(reply.getXid(), someFlows, hasMore, listener);
    } else if (message instanceof OFPortStatsReply reply) {
      List<PortCounters> all = PortMessages.counters(reply);
      return () -> listener.portCounters(connection, all);
    } else if (message instanceof OFPortStatus status) {
      boolean isGone = status.getReason() == OFPortReason.DELETE;
      PortState port = PortMessages.state(status.getDesc(), isGone);
      return () -> listener.portChanged(connection, port);
    } else if (message instanceof OFErrorMsg error) {
      String text = PortMessages.text(error);
      return () -> {
        counters.add(Counter.SWITCH_ERRORS);
        listener.refused(connection, text);
      };
    }
    boolean answer = message instanceof OFEchoReply || message instanceof OFBundleCtrlMsg;
    return answer ? () -> {} : unexpected();
  }
}
