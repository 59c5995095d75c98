package io.tapline.sdn.openflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.tapline.network.IpPrefix;
import io.tapline.network.rules.PortMask;
import io.tapline.network.rules.RuleMatch;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowAction;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.ObservedFlow;
import io.tapline.sdn.flow.TcpFlags;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.projectfloodlight.openflow.exceptions.OFParseError;
import org.projectfloodlight.openflow.protocol.OFFactories;
import org.projectfloodlight.openflow.protocol.OFFlowStatsReply;

class FlowCodecTest {
  /** The statistics of three flows as Open vSwitch 3.1 reports them in OpenFlow 1.4. */
  private static final String REPLY =
      """
      0513016800000007000100000000000000700000000000000a408300000c0000
      00000000000000007a9102000000000100000000000000000000000000000000
      0001001b80000a0208008000140106ffff55084f4e4600000000070000000000
      0004001800000000000000100000000200000000000000000001000801000000
      0088000000000000092dda80000b000000000000000000007a91020000000001
      000000000000000000000000000000000001002b800000040000000380000606
      02000000000180000a0208008000140106ffff54064f4e460000020000000000
      0004002800000000001500080000000100000010000000020000000000000000
      00150008000000000060000000000000082a7440000a00000000000000000000
      7a91020000000001000000000000000000000000000000000001000f80000a02
      0800800014010600000400180000000000000010000000020000000000000000
      0001000801000000
      """;

  private static final RuleMatch TCP =
      new RuleMatch(IpPrefix.all(4), IpPrefix.all(4), 6, PortMask.ANY, PortMask.ANY, 0, 0);

  @Test
  void flagsThatOpenVSwitchReportsAreRead() throws OFParseError {
    byte[] bytes = HexFormat.of().parseHex(REPLY.replaceAll("\\s", ""));
    OFFlowStatsReply reply =
        (OFFlowStatsReply) OFFactories.getGenericReader().readFrom(Unpooled.wrappedBuffer(bytes));
    List<Flow> flows =
        reply.getEntries().stream().map(FlowCodec::decode).map(ObservedFlow::flow).toList();
    assertThat(flows)
        .anySatisfy(
            flow -> {
              assertThat(flow.match()).isEqualTo(FlowMatch.of(TCP).with(TcpFlags.DATA));
              assertThat(flow.actions()).containsExactly(new FlowAction.Output(2));
              assertThat(flow.next()).isEqualTo(1);
            })
        .anySatisfy(
            flow -> {
              assertThat(flow.match())
                  .isEqualTo(FlowMatch.of(3, 0x020000000001L, TCP).with(new TcpFlags(2, 0xfff)));
              assertThat(flow.actions())
                  .containsExactly(
                      new FlowAction.SetQueue(1),
                      new FlowAction.Output(2),
                      new FlowAction.SetQueue(0));
            })
        .anySatisfy(flow -> assertThat(flow.match()).isEqualTo(FlowMatch.of(TCP)))
        .hasSize(3);
  }
}
