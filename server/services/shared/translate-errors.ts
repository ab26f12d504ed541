// Translates errors of drivers, records and store into the API's errors; server/api/errors.ts has their statuses.
import { hasCode } from '../../lib/shared/error-code.ts';
import { AppError, type ErrorCode } from '../../api/errors.ts';
import { DriverError } from '../../drivers/driver-error.ts';
import { RecordConflict } from '../../records/records.ts';
import { ChangeTooLarge } from '../../records/too-large.ts';
import { StoreError } from '../../store/store.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { assertNever } from '../../lib/shared/assert-never.ts';

/** The message says what was tried, the cause why: whoever shows the error joins them. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof DriverError) return as(fromDriver(error), error);
  if (error instanceof StoreError) return as(fromStore(error), error);
  if (error instanceof RecordConflict) return as('conflict', error);
  if (error instanceof ChangeTooLarge) return as('badRequest', error);
  if (hasCode(error, 'ENOSPC'))
    return new AppError('diskFull', 'No space is left on a disk of the server: delete what is not needed', {
      cause: error,
    });
  return as('internal', error instanceof Error ? error : new Error(String(error)));
}

export function readableError(error: AppError, readable: (text: string) => string): AppError {
  const details = error.details.map((detail) => ({ ...detail, message: readable(detail.message) }));
  return new AppError(error.code, readable(errorText(error)), { details });
}

const as = (code: ErrorCode, error: Error): AppError => new AppError(code, error.message, { cause: error.cause });

function fromDriver(error: DriverError): ErrorCode {
  switch (error.code) {
    case 'Invalid':
    case 'InUse':
    case 'NotSupported':
      return 'badRequest';
    case 'NotFound':
      return 'notFound';
    case 'Exists':
      return 'exists';
    case 'Timeout':
    case 'Failed':
    case 'NoSpace':
      return 'internal';
    default:
      return assertNever(error.code);
  }
}

function fromStore({ code }: StoreError): ErrorCode {
  if (code === 'NoSpace') return 'diskFull';
  if (code === 'TooLarge') return 'badRequest';
  if (code === 'Unknown') return 'outcomeUnknown';
  return code === 'Unavailable' || code === 'Locked' ? 'unavailable' : 'internal';
}
