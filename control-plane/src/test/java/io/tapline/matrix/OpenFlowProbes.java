package io.tapline.matrix;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;

/** Simulates a switch until the controller has identified it (OpenFlow 1.3.5, section 7.3.1). */
final class OpenFlowProbes {
  private static final byte VERSION = 4;
  private static final byte HELLO = 0;
  private static final byte FEATURES_REQUEST = 5;
  private static final byte FEATURES_REPLY = 6;
  private static final int HEADER_BYTES = 8;
  private static final int KEPT_MS = 1_500;

  /** A datapath ID that the switch's certificate names; no switch of the small cluster has it. */
  private static final long OWN_DATAPATH = 2;

  private static final long OTHER_DATAPATH = 0x99;

  private final Cluster cluster;

  OpenFlowProbes(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Tries an operation of the table. */
  void run(String operation, Component client, int port) throws Exception {
    long datapath =
        switch (operation) {
          case "own-datapath" -> OWN_DATAPATH;
          case "other-datapath" -> OTHER_DATAPATH;
          default -> throw new IllegalArgumentException("no probe for " + operation);
        };
    try (SSLSocket socket = TlsConnector.open(cluster.leader(), port, client.tls())) {
      introduce(socket, datapath);
      socket.setSoTimeout(KEPT_MS);
      while (socket.getInputStream().read() >= 0) {
        // The controller sent a request to the switch.
      }
      throw new Refused("the connection was closed");
    } catch (SocketTimeoutException e) {
      // The controller kept the connection open.
    } catch (SSLException e) {
      throw new Refused(e.getMessage());
    }
  }

  private static void introduce(SSLSocket socket, long datapath) throws IOException, Refused {
    OutputStream out = socket.getOutputStream();
    out.write(message(HELLO, 1, new byte[0]));
    InputStream in = socket.getInputStream();
    while (true) {
      ByteBuffer header = ByteBuffer.wrap(TlsConnector.read(in, HEADER_BYTES));
      TlsConnector.read(in, header.getShort(2) - HEADER_BYTES);
      if (header.get(1) == FEATURES_REQUEST) {
        byte[] features =
            ByteBuffer.allocate(24).putLong(datapath).putInt(256).put((byte) 254).array();
        out.write(message(FEATURES_REPLY, header.getInt(4), features));
        return;
      }
    }
  }

  private static byte[] message(byte type, int transaction, byte[] body) {
    return ByteBuffer.allocate(HEADER_BYTES + body.length)
        .put(VERSION)
        .put(type)
        .putShort((short) (HEADER_BYTES + body.length))
        .putInt(transaction)
        .put(body)
        .array();
  }
}
