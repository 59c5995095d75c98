package io.tapline.schema;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import io.tapline.schema.proto.TupleBatch;
import java.io.IOException;

/** Parses Kafka records into tuple batches (tuple_batch.proto). Stateless. */
public final class BatchReader {
  /** The layout version that this reader supports. */
  public static final int FORMAT = 1;

  private BatchReader() {}

  /**
   * Decodes the envelope of one record; {@link TupleColumns#of} decodes its columns.
   *
   * @param record a Kafka record's value; must not be changed afterwards, since the batch refers to
   *     its bytes
   * @throws BatchReaderException if the record is not a batch, or has an unknown format
   */
  public static TupleBatch read(byte[] record) throws BatchReaderException {
    TupleBatch batch = decode(record);
    if (batch.getFormat() != FORMAT) {
      throw new BatchReaderException(
          BatchReaderException.Reason.UNKNOWN_FORMAT,
          "batch has format "
              + Integer.toUnsignedString(batch.getFormat())
              + ", this reader supports "
              + FORMAT);
    }
    return batch;
  }

  private static TupleBatch decode(byte[] record) throws BatchReaderException {
    var input = UnsafeByteOperations.unsafeWrap(record).newCodedInput();
    input.enableAliasing(true);
    try {
      TupleBatch batch = TupleBatch.parseFrom(input);
      input.checkLastTagWas(0);
      return batch;
    } catch (InvalidProtocolBufferException e) {
      throw BatchReaderException.malformed("not a tuple batch: " + e.getMessage());
    } catch (IOException e) {
      throw BatchReaderException.malformed("not a tuple batch: " + e);
    }
  }
}
