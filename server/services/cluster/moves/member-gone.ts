// A signal that also aborts when a member of the cluster is lost: a connection to a host without power stays silent for long.
import { errors } from '../../../api/errors.ts';
import type { Members } from '../../../membership/members.ts';

export interface MemberWatch {
  readonly signal: AbortSignal;
  end(): void;
}

export function whilePresent(members: Members, number: number, signal: AbortSignal): MemberWatch {
  const gone = new AbortController();
  const look = (): void => {
    if (!members.isPresent(number))
      gone.abort(errors.unavailable(`The cluster member ${members.nameOf(number)} is offline`));
  };
  const end = members.onPresence(look);
  look();
  return { signal: AbortSignal.any([signal, gone.signal]), end };
}
