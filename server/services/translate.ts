// The one place where errors of drivers, records and store become the API's errors; its statuses are in server/api/errors.ts.
import { AppError, errors } from '../api/errors.ts';
import { DriverError } from '../drivers/driver-error.ts';
import { errorText } from '../lib/log.ts';
import { RecordConflict } from '../records/records.ts';
import { StoreError } from '../store/store.ts';
import { assertNever } from '../lib/assert-never.ts';

export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof DriverError) return fromDriver(error);
  if (error instanceof StoreError) return fromStore(error);
  if (error instanceof RecordConflict) return new AppError('conflict', error.message, { cause: error });
  return errors.internal(errorText(error), error);
}

function fromDriver(error: DriverError): AppError {
  const message = errorText(error);
  switch (error.code) {
    case 'Invalid':
    case 'InUse':
    case 'NotSupported':
      return new AppError('badRequest', message, { cause: error });
    case 'NotFound':
      return new AppError('notFound', message, { cause: error });
    case 'Exists':
      return new AppError('exists', message, { cause: error });
    case 'Timeout':
    case 'Failed':
    case 'NoSpace':
      return errors.internal(message, error);
    default:
      return assertNever(error.code);
  }
}

function fromStore(error: StoreError): AppError {
  const away = error.code === 'Unavailable' || error.code === 'Locked';
  return away ? errors.unavailable(errorText(error), error) : errors.internal(errorText(error), error);
}
