// A box to write a message in, with images by paste, drop and picker. Ctrl or Cmd with Enter sends it.
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  useRef,
  useState,
} from 'react';
import { useTexts } from '../texts/texts.tsx';
import { IconButton } from './IconButton.tsx';
import {
  holdsFiles,
  type ImageFault,
  joinImages,
  type PickedImage,
  pastedFiles,
  readImages,
} from './images.ts';
import { OpenableImage } from './OpenableImage.tsx';

type Images = readonly PickedImage[];

interface MessageBoxProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly images: Images;
  readonly onText: (text: string) => void;
  /** Is given how the images follow from the newest ones: reading files takes its time. */
  readonly onImages: (change: (newest: Images) => Images) => void;
  readonly onSend: () => void;
  readonly rows: number;
  readonly box?: Ref<HTMLTextAreaElement>;
  /** Beside the button for images. */
  readonly children: ReactNode;
}

function Previews({ images, onImages }: Pick<MessageBoxProps, 'images' | 'onImages'>) {
  const { home } = useTexts();
  if (images.length === 0) return null;
  return (
    <ul className="previews">
      {images.map((image, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be there twice
        <li key={i}>
          <OpenableImage src={image.url} name={image.name || home.image(i + 1)} />
          <IconButton
            icon="close"
            label={home.removeImage(image.name || home.image(i + 1))}
            className=""
            onClick={() => onImages((newest) => newest.filter((other) => other !== image))}
          />
        </li>
      ))}
    </ul>
  );
}

/** Takes all of them, or says why not. */
function useIntake(onImages: MessageBoxProps['onImages']) {
  const [fault, setFault] = useState<ImageFault>();

  async function take(files: readonly File[]) {
    if (files.length === 0) return;
    const added = await readImages(files);
    if (typeof added === 'string') return setFault(added);
    let refused: ImageFault | undefined;
    onImages((newest) => {
      const joined = joinImages(newest, added);
      refused = typeof joined === 'string' ? joined : undefined;
      return typeof joined === 'string' ? newest : joined;
    });
    setFault(refused);
  }

  return { fault, take };
}

/** The box lights up while files are held over it. */
function useDrop(take: (files: readonly File[]) => Promise<void>) {
  const [over, setOver] = useState(false);
  const onFiles = (react: (event: DragEvent) => void) => (event: DragEvent) => {
    if (!holdsFiles(event.dataTransfer)) return;
    event.preventDefault();
    react(event);
  };
  const handlers = {
    onDragOver: onFiles(() => setOver(true)),
    onDragLeave: () => setOver(false),
    onDrop: onFiles(({ dataTransfer }) => {
      setOver(false);
      void take([...dataTransfer.files]);
    }),
  };
  return { over, handlers };
}

function ImagePicker({ onPicked }: { readonly onPicked: (files: readonly File[]) => void }) {
  const { home } = useTexts();
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        className="hidden"
        type="file"
        accept="image/*"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          onPicked([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
      <IconButton icon="image" label={home.addImages} onClick={() => picker.current?.click()} />
    </>
  );
}

export function MessageBox(props: MessageBoxProps) {
  const { label, placeholder, text, images, onText, onImages, onSend, rows, box, children } = props;
  const { home } = useTexts();
  const { fault, take } = useIntake(onImages);
  const { over, handlers } = useDrop(take);

  function onPaste(event: ClipboardEvent) {
    const files = pastedFiles(event.clipboardData);
    if (files.length === 0) return;
    event.preventDefault();
    void take(files);
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onSend();
  }

  return (
    <div className={over ? 'message-box over' : 'message-box'} {...handlers}>
      <textarea
        ref={box}
        aria-label={label}
        placeholder={over ? home.dropHere : placeholder}
        rows={rows}
        value={text}
        onChange={(event) => onText(event.target.value)}
        onPaste={onPaste}
        onKeyDown={onKeyDown}
      />
      <Previews images={images} onImages={onImages} />
      {fault === undefined ? null : (
        <p className="fault" role="alert">
          {home[fault]}
        </p>
      )}
      <div className="row">
        <ImagePicker onPicked={take} />
        {children}
      </div>
    </div>
  );
}
