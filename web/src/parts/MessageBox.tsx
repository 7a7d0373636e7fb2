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
import { Icon } from './Icon.tsx';
import { addImages, type ImageFault, imageFiles, type PickedImage } from './images.ts';

interface MessageBoxProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly images: readonly PickedImage[];
  readonly onText: (text: string) => void;
  readonly onImages: (images: readonly PickedImage[]) => void;
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
        <li key={image.url}>
          <img src={image.url} alt={image.name || home.image(i + 1)} />
          <button
            type="button"
            className="button only-icon"
            aria-label={home.removeImage(image.name || home.image(i + 1))}
            onClick={() => onImages(images.filter((other) => other !== image))}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

export function MessageBox(props: MessageBoxProps) {
  const { label, placeholder, text, images, onText, onImages, onSend, rows, box, children } = props;
  const { home } = useTexts();
  const picker = useRef<HTMLInputElement>(null);
  const [fault, setFault] = useState<ImageFault>();
  const [over, setOver] = useState(false);

  async function take(files: readonly File[]) {
    if (files.length === 0) return;
    const taken = await addImages(images, files);
    setFault(typeof taken === 'string' ? taken : undefined);
    if (typeof taken !== 'string') onImages(taken);
  }

  function onPaste(event: ClipboardEvent) {
    const files = imageFiles(event.clipboardData);
    if (files.length === 0) return;
    event.preventDefault();
    void take(files);
  }

  function onDrop(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    void take(imageFiles(event.dataTransfer));
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onSend();
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop on; the button does the same
    <div
      className={over ? 'message-box over' : 'message-box'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
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
        <input
          ref={picker}
          className="hidden"
          type="file"
          accept="image/*"
          multiple
          tabIndex={-1}
          aria-hidden="true"
          onChange={(event) => {
            void take([...(event.target.files ?? [])]);
            event.target.value = '';
          }}
        />
        <button
          type="button"
          className="button plain only-icon"
          aria-label={home.addImages}
          title={home.addImages}
          onClick={() => picker.current?.click()}
        >
          <Icon name="image" />
        </button>
        {children}
      </div>
    </div>
  );
}
