// Runs before each test file: programs start without a copy of this large process; its temporary folders are removed afterwards.
import { afterAll } from 'vitest';
import { quickStart } from '../../server/drivers/runtime/host/quick-start.ts';
import { loadLibc } from '../../server/drivers/runtime/host/syscalls.ts';
import { startProgramsBy } from '../../server/lib/start-program.ts';
import { removeTempFolders } from './temp-folder.ts';

// The hooks of the file itself come first.
afterAll(removeTempFolders);

// A fork of a test process of 400 MB blocks it for 20 ms and more.
const libc = await loadLibc();
startProgramsBy(libc && quickStart(libc));
