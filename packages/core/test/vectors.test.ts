import { MemoryStore } from '../src/index.ts';
import { testWorkedTimelines } from './worked-timelines.ts';

testWorkedTimelines((clock) => new MemoryStore({ clock }));
