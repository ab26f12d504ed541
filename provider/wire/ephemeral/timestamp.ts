// Times as the protocol writes them.
import type { MessageOf } from '../../../server/lib/shared/protobuf.ts';
import type { RenewReply } from '../messages.ts';

type Timestamp = MessageOf<typeof RenewReply>['renewAt'];

export function asTimestamp(time: Date | undefined): Timestamp {
  if (time === undefined) return undefined;
  const seconds = Math.floor(time.getTime() / 1000);
  return { seconds, nanoseconds: (time.getTime() - seconds * 1000) * 1_000_000 };
}
