"""One update by a recipe for timm's train.py, put together from the parts of timm it names."""

import argparse

import torch
import yaml
from timm.data import Mixup, create_dataset, create_loader, resolve_data_config
from timm.loss import SoftTargetCrossEntropy
from timm.models import create_model
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import ModelEmaV3

SMALL = {"img_size": 32, "depths": (1, 1, 1, 1), "dims": (8, 8, 8, 8)}


def loader(args, split, recipe, settings, training):
    return create_loader(
        create_dataset("", root=args.data_dir, split=recipe[split]),
        input_size=(3, 32, 32),
        batch_size=8,
        is_training=training,
        use_prefetcher=False,
        re_prob=recipe["reprob"],
        color_jitter=recipe["color_jitter"],
        auto_augment=recipe["aa"],
        interpolation=recipe["train_interpolation"],
        mean=settings["mean"],
        std=settings["std"],
        num_workers=0,
        crop_pct=recipe["crop_pct"],
        device=torch.device("cpu"),
    )


def main():
    parser = argparse.ArgumentParser()
    for name in ("--config", "--data-dir", "--out"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    with open(args.config) as file:
        recipe = yaml.safe_load(file)
    torch.manual_seed(recipe["seed"])
    model = create_model(
        recipe["model"], num_classes=2, drop_path_rate=recipe["drop_path"], **SMALL
    ).to(memory_format=torch.channels_last)
    settings = resolve_data_config({}, model=model)
    mix = Mixup(
        recipe["mixup"], recipe["cutmix"], label_smoothing=recipe["smoothing"], num_classes=2
    )
    optimizer = create_optimizer_v2(
        model, recipe["opt"], lr=recipe["lr"], weight_decay=recipe["weight_decay"]
    )
    schedule, epochs = create_scheduler_v2(
        optimizer,
        sched=recipe["sched"],
        num_epochs=recipe["epochs"],
        warmup_epochs=recipe["warmup_epochs"],
        warmup_lr=recipe["warmup_lr"],
        min_lr=recipe["min_lr"],
        cooldown_epochs=recipe["cooldown_epochs"],
    )
    assert epochs == recipe["epochs"]
    average = ModelEmaV3(model, decay=recipe["model_ema_decay"])
    model.train()
    x, y = mix(*next(iter(loader(args, "train_split", recipe, settings, True))))
    with torch.autocast("cpu", torch.bfloat16, enabled=recipe["amp"]):
        loss = SoftTargetCrossEntropy()(model(x), y)
    loss.backward()
    optimizer.step()
    average.update(model)
    schedule.step(1)
    average.module.eval()
    with torch.no_grad():
        found = [
            (average.module(x).argmax(-1) == y)
            for x, y in loader(args, "val_split", recipe, settings, False)
        ]
    accuracy = torch.cat(found).double().mean()
    print(f"2 classes, 1 update, accuracy {accuracy:.2f}")
    torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
