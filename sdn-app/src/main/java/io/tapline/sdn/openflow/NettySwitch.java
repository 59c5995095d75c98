package io.tapline.sdn.openflow;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.flow.SwitchMessage;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.SwitchConnection;
import io.tapline.sdn.switches.SwitchListener;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.projectfloodlight.openflow.protocol.OFEchoRequest;
import org.projectfloodlight.openflow.protocol.OFFactory;
import org.projectfloodlight.openflow.protocol.OFMessage;
import org.projectfloodlight.openflow.protocol.OFVersion;
import org.projectfloodlight.openflow.types.OFGroup;
import org.projectfloodlight.openflow.types.OFPort;
import org.projectfloodlight.openflow.types.TableId;
import org.projectfloodlight.openflow.types.U64;

/** The controller's end of a connection to a switch. Confined to the event loop. */
final class NettySwitch implements SwitchConnection {
  private final Channel channel;
  private final OFFactory factory;
  private final FlowCodec codec;
  private final Counters counters;
  private final Limits limits;
  private final Map<Long, Runnable> barriers = new HashMap<>();
  private final List<ObservedFlow> flows = new ArrayList<>();
  private long datapath;
  private long lastXid = 1;
  private long flowsXid;
  private long fullSinceNs;
  private boolean gone;

  NettySwitch(Channel channel, OFFactory factory, Counters counters, Limits limits) {
    this.channel = channel;
    this.factory = factory;
    this.codec = new FlowCodec(factory);
    this.counters = counters;
    this.limits = limits;
  }

  OFFactory factory() {
    return factory;
  }

  void introduced(long number) {
    datapath = number;
  }

  @Override
  public long datapath() {
    return datapath;
  }

  @Override
  public String remote() {
    InetSocketAddress address = (InetSocketAddress) channel.remoteAddress();
    return address == null
        ? "gone"
        : address.getAddress().getHostAddress() + ":" + address.getPort();
  }

  @Override
  public String version() {
    return factory.getVersion() == OFVersion.OF_14 ? "1.4" : "1.3";
  }

  @Override
  public void send(List<? extends SwitchMessage> messages) {
    long mods = messages.stream().filter(SwitchMessage.FlowMod.class::isInstance).count();
    counters.add(Counter.FLOW_MODS, mods);
    if (mods > 1 && factory.getVersion() == OFVersion.OF_14) {
      write(Bundle.of(factory, codec, messages, this::nextXid));
    } else {
      write(messages.stream().map(message -> codec.encode(message, nextXid())).toList());
    }
  }

  private long nextXid() {
    lastXid = lastXid + 1 & 0xffff_ffffL;
    return lastXid;
  }

  private void write(List<OFMessage> messages) {
    if (gone || messages.isEmpty()) {
      return;
    }
    ByteBuf bytes = channel.alloc().buffer();
    messages.forEach(message -> message.writeTo(bytes));
    channel.writeAndFlush(bytes);
    if (pendingBytes() > limits.maxPendingBytes()) {
      close(Counter.SLOW_READERS);
    }
  }

  private long pendingBytes() {
    ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
    return buffer == null ? 0 : buffer.totalPendingWriteBytes();
  }

  /** Disconnects the switch if its write buffer has been full for too long. */
  void cutIfSlow(long nowNs) {
    if (channel.isWritable()) {
      fullSinceNs = 0;
    } else if (fullSinceNs == 0) {
      fullSinceNs = nowNs;
    } else if (nowNs - fullSinceNs > limits.slowNs()) {
      close(Counter.SLOW_READERS);
    }
  }

  @Override
  public void afterAll(Runnable done) {
    long xid = nextXid();
    barriers.put(xid, done);
    write(List.of(factory.buildBarrierRequest().setXid(xid).build()));
    if (gone) {
      barrierDone(xid);
    }
  }

  void barrierDone(long xid) {
    Runnable done = barriers.remove(xid);
    if (done != null) {
      done.run();
    }
  }

  /** Handles the end of the connection: runs the actions of all pending barriers. */
  void gone() {
    gone = true;
    List.copyOf(barriers.keySet()).forEach(this::barrierDone);
  }

  @Override
  public void requestFlows() {
    flows.clear();
    flowsXid = nextXid();
    write(
        List.of(
            factory.buildBarrierRequest().setXid(nextXid()).build(),
            factory
                .buildFlowStatsRequest()
                .setXid(flowsXid)
                .setTableId(TableId.ALL)
                .setOutPort(OFPort.ANY)
                .setOutGroup(OFGroup.ANY)
                .setCookie(U64.ZERO)
                .setCookieMask(U64.ZERO)
                .setMatch(factory.matchWildcardAll())
                .build()));
  }

  void take(long xid, List<ObservedFlow> someFlows, boolean hasMore, SwitchListener listener) {
    if (xid != flowsXid) {
      counters.add(Counter.UNEXPECTED_MESSAGES);
      return;
    }
    flows.addAll(someFlows);
    if (flows.size() > limits.maxFlows()) {
      close(Counter.OVERSIZED_REPLIES);
    } else if (!hasMore) {
      flowsXid = 0;
      List<ObservedFlow> all = List.copyOf(flows);
      flows.clear();
      listener.flows(this, all);
    }
  }

  @Override
  public void requestPortCounters() {
    write(List.of(factory.buildPortStatsRequest().setXid(nextXid()).setPortNo(OFPort.ANY).build()));
  }

  void requestFeatures() {
    write(List.of(factory.buildFeaturesRequest().setXid(nextXid()).build()));
  }

  void requestPorts() {
    write(List.of(factory.buildPortDescStatsRequest().setXid(nextXid()).build()));
  }

  void sendEcho() {
    write(List.of(factory.buildEchoRequest().setXid(nextXid()).build()));
  }

  void answer(OFEchoRequest request) {
    write(
        List.of(
            factory.buildEchoReply().setXid(request.getXid()).setData(request.getData()).build()));
  }

  @Override
  public void close(Counter reason) {
    if (!gone) {
      gone = true;
      counters.add(reason);
      channel.close();
      channel.eventLoop().execute(this::gone);
    }
  }
}
