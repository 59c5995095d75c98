package io.tapline.sdn.openflow;

import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.projectfloodlight.openflow.protocol.OFFactories;
import org.projectfloodlight.openflow.protocol.OFFactory;
import org.projectfloodlight.openflow.protocol.OFHello;
import org.projectfloodlight.openflow.protocol.OFHelloElemVersionbitmap;
import org.projectfloodlight.openflow.protocol.OFVersion;
import org.projectfloodlight.openflow.types.U32;

/** Negotiates the OpenFlow version: the highest that both sides support (OpenFlow 1.3.1, 6.3.1). */
final class Versions {
  static final List<OFVersion> SPOKEN = List.of(OFVersion.OF_14, OFVersion.OF_13);

  private Versions() {}

  static OFHello hello() {
    OFFactory factory = OFFactories.getFactory(SPOKEN.get(0));
    int bits = 0;
    for (OFVersion version : SPOKEN) {
      bits |= 1 << version.getWireVersion();
    }
    return factory
        .buildHello()
        .setXid(1)
        .setElements(
            List.of(
                factory.buildHelloElemVersionbitmap().setBitmaps(List.of(U32.ofRaw(bits))).build()))
        .build();
  }

  /** Returns the version to use with the sender of a hello; empty if there is none. */
  static Optional<OFVersion> common(OFHello hello) {
    Set<OFVersion> theirs = EnumSet.noneOf(OFVersion.class);
    boolean hasBitmap = false;
    if (hello.getVersion().getWireVersion() >= OFVersion.OF_13.getWireVersion()) {
      for (var element : hello.getElements()) {
        if (element instanceof OFHelloElemVersionbitmap bitmap && !bitmap.getBitmaps().isEmpty()) {
          hasBitmap = true;
          int bits = bitmap.getBitmaps().get(0).getRaw();
          for (OFVersion version : OFVersion.values()) {
            if ((bits >> version.getWireVersion() & 1) != 0) {
              theirs.add(version);
            }
          }
        }
      }
    }
    if (!hasBitmap) {
      // A peer without a bitmap supports every version up to the one in its hello.
      theirs.addAll(EnumSet.range(OFVersion.OF_10, hello.getVersion()));
    }
    return SPOKEN.stream().filter(theirs::contains).findFirst();
  }
}
