package io.tapline.sdn.openflow;

import io.tapline.sdn.flow.SwitchMessage;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.projectfloodlight.openflow.protocol.OFBundleCtrlType;
import org.projectfloodlight.openflow.protocol.OFBundleFlags;
import org.projectfloodlight.openflow.protocol.OFFactory;
import org.projectfloodlight.openflow.protocol.OFMessage;
import org.projectfloodlight.openflow.types.BundleId;

/** Flow changes that a switch applies atomically (OpenFlow 1.4, 6.8). */
final class Bundle {
  private static final Set<OFBundleFlags> FLAGS =
      EnumSet.of(OFBundleFlags.ATOMIC, OFBundleFlags.ORDERED);

  private Bundle() {}

  /**
   * Returns the messages as one bundle. Omits barriers, which have no effect inside a bundle, and
   * appends packet-outs after the bundle's commit.
   */
  static List<OFMessage> of(
      OFFactory factory,
      FlowCodec codec,
      List<? extends SwitchMessage> messages,
      LongSupplier xids) {
    List<OFMessage> bundle = new ArrayList<>();
    List<OFMessage> sentLater = new ArrayList<>();
    BundleId id = BundleId.of((int) (xids.getAsLong() & Integer.MAX_VALUE));
    bundle.add(control(factory, id, OFBundleCtrlType.OPEN_REQUEST, xids));
    for (SwitchMessage message : messages) {
      long xid = xids.getAsLong();
      if (message instanceof SwitchMessage.FlowMod) {
        bundle.add(
            factory
                .buildBundleAddMsg()
                .setXid(xid)
                .setBundleId(id)
                .setFlags(FLAGS)
                .setData(codec.encode(message, xid))
                .build());
      } else if (message instanceof SwitchMessage.PacketOut) {
        sentLater.add(codec.encode(message, xid));
      }
    }
    bundle.add(control(factory, id, OFBundleCtrlType.COMMIT_REQUEST, xids));
    bundle.addAll(sentLater);
    return bundle;
  }

  private static OFMessage control(
      OFFactory factory, BundleId id, OFBundleCtrlType type, LongSupplier xids) {
    return factory
        .buildBundleCtrlMsg()
        .setXid(xids.getAsLong())
        .setBundleId(id)
        .setBundleCtrlType(type)
        .setFlags(FLAGS)
        .build();
  }
}
