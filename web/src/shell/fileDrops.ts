// A file that misses the box for images would be opened by the browser in place of the page: nothing else takes one.
import { holdsFiles } from '../parts/images.ts';

export function refuseFileDrops(): void {
  const refuse = (event: DragEvent) => {
    if (event.defaultPrevented || event.dataTransfer === null || !holdsFiles(event.dataTransfer)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'none';
  };
  addEventListener('dragover', refuse);
  addEventListener('drop', refuse);
}
